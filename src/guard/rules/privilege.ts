import type { Rule } from '../call.ts'
import { refuse } from '../verdict.ts'
import { subcommandRules } from './words.ts'

const other =
  'sudo su doas pkexec sudoedit runuser gosu chroot visudo vipw setpriv capsh newgrp sg runas gsudo'.split(
    ' ',
  )
const accounts =
  'usermod useradd adduser userdel deluser groupadd groupmod addgroup delgroup gpasswd passwd chpasswd chage dscl dseditgroup sysadminctl'.split(
    ' ',
  )
const machine =
  'shutdown reboot halt poweroff init telinit kexec insmod modprobe rmmod depmod setenforce iptables ip6tables nft ufw firewall-cmd pfctl aa-disable aa-teardown apparmor_parser auditctl csrutil spctl nvram grub-install update-grub efibootmgr hostnamectl'.split(
    ' ',
  )

/** Other rights, other users, and what belongs to the machine. */
export const privilegeRules: readonly Rule[] = [
  {
    programs: other,
    judge: ({ program }) => refuse('privilege', `${program} would take the rights of another user`),
  },
  {
    programs: accounts,
    judge: ({ program }) => refuse('privilege', `${program} would change the users of this machine`),
  },
  {
    programs: machine,
    judge: ({ program, args }) =>
      args.some(arg => /^(?:-L|-S|--list|list|status|--list-all)$/u.test(arg))
        ? null
        : refuse('privilege', `${program} would change how this machine runs`),
  },
  {
    programs: ['systemctl', 'service', 'rc-service', 'sv', 'initctl'],
    judge: ({ program, args }) => {
      const words = args.filter(arg => !arg.startsWith('-'))
      const looks = /^(?:status|is-active|is-enabled|is-failed|list-.*|show|cat|help|get-default)$/u
      if (words.length === 0 || words.some(word => looks.test(word)) || args.includes('--status-all'))
        return null
      const isLasting = words.some(word =>
        /^(?:enable|link|preset|edit|set-default|daemon-reload)$/u.test(word),
      )
      return isLasting
        ? refuse('persistence', `${program} would leave a service behind`)
        : refuse('privilege', `${program} would start or stop services of this machine`)
    },
  },
  {
    programs: ['sysctl'],
    judge: ({ args }) =>
      args.some(arg => /^-w$|^--write$|=|^-p|^--system/u.test(arg))
        ? refuse('disk-write', 'sysctl would change the kernel')
        : null,
  },
  {
    programs: ['nsenter', 'unshare', 'setns', 'machinectl', 'lxc-attach', 'crictl'],
    judge: ({ program }) =>
      refuse('container-escape', `${program} would enter other namespaces of this machine`),
  },
  ...subcommandRules([
    {
      category: 'privilege',
      what: 'would change the clock',
      lines: ['date -s|--set', 'timedatectl set-time|set-timezone'],
    },
    {
      category: 'privilege',
      what: 'would change the network of this machine',
      lines: ['ip link|addr|route|rule set|add|del|flush|replace', 'route add|del', 'ifconfig * up|down'],
    },
  ]),
]
