import { globPattern, hasGlob, type Place } from './paths.ts'
import { type Refusal, refuse } from './verdict.ts'

/** Paths that are never written, and what they are. Of the workspace from its root, of all else from `/`. */
type Protected = { pattern: RegExp; category: Refusal['category']; what: string; samples: readonly string[] }

const inProject: readonly Protected[] = [
  {
    pattern: /(?:^|\/)\.git(?:$|\/)/iu,
    category: 'git-history',
    what: 'the inside of the git repository',
    samples: ['.git', '.git/config', '.git/hooks', '.git/HEAD', '.git/refs', '.git/objects'],
  },
  {
    pattern:
      /^\/?(?:\.ralph(?:$|\/)|\.ralph-active$|\.ralph_state\.md$|\.ralph\.lock$|ralph\.config\.ya?ml$)/iu,
    category: 'guard-tamper',
    what: 'Ralph’s own state or configuration',
    samples: ['.ralph', '.ralph/ralph.db', '.ralph-active', 'ralph.config.yaml'],
  },
  {
    pattern: new RegExp(
      [
        String.raw`(?:^|\/)\.claude(?:$|\/(?:settings[^/]*\.json|hooks|plugins)(?:$|\/))`,
        String.raw`(?:^|\/)\.mcp\.json$`,
        String.raw`(?:^|\/)\.(?:codex|copilot|qwen)(?:$|\/)`,
        String.raw`(?:^|\/)\.gemini(?:$|\/(?:settings\.json|\.env|extensions|policies|hooks)(?:$|\/))`,
        String.raw`(?:^|\/)opencode\.jsonc?$`,
        String.raw`(?:^|\/)\.opencode(?:$|\/(?:plugins?|opencode\.jsonc?)(?:$|\/))`,
        String.raw`(?:^|\/)\.github\/(?:hooks|copilot)(?:$|\/)`,
        String.raw`(?:^|\/)\.(?:vscode|cursor)\/(?:mcp|hooks)\.json$`,
      ].join('|'),
      'iu',
    ),
    category: 'guard-tamper',
    what: 'the settings or hooks of an agent',
    samples: [
      ...['.claude', '.claude/settings.json', '.claude/settings.local.json', '.claude/hooks', '.mcp.json'],
      ...['.codex', '.codex/config.toml', '.gemini', '.gemini/settings.json', '.copilot', '.qwen'],
      ...['opencode.json', '.opencode', '.opencode/plugin', '.github/hooks'],
    ],
  },
]

const elsewhere: readonly Protected[] = [
  {
    pattern: /\/\.(?:ssh|gnupg)(?:$|\/)/iu,
    category: 'ssh-keys',
    what: 'keys, or who may log in with them',
    samples: ['/home/a/.ssh', '/root/.ssh/authorized_keys'],
  },
  {
    pattern:
      /\/(?:\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc|inputrc|xprofile|xinitrc|pam_environment)$|\.config\/(?:fish|systemd|autostart)(?:$|\/)|Library\/Launch(?:Agents|Daemons)(?:$|\/))|^\/etc\/(?:cron|init\.d|rc\.|systemd|profile|bash|zsh|environment|ld\.so|pam\.d|xdg\/autostart)|^\/var\/spool\/(?:cron|at)/iu,
    category: 'persistence',
    what: 'a file that is run at the start of a shell, a session or the machine',
    samples: ['/home/a/.bashrc', '/home/a/.profile', '/home/a/.zshrc', '/etc/crontab'],
  },
  {
    pattern:
      /\/(?:\.claude|\.codex|\.gemini|\.copilot|\.qwen|\.opencode|\.config\/(?:opencode|github-copilot)|\.local\/share\/opencode)(?:$|\/)|\/\.(?:claude|mcp)\.json$|\/\.ralph(?:$|\/)/iu,
    category: 'guard-tamper',
    what: 'the settings of an agent or Ralph’s own state',
    samples: ['/home/a/.claude', '/home/a/.claude/settings.json', '/home/a/.codex/config.toml'],
  },
]

/** What a write or a deletion there would touch that nobody but a person should; null when nothing. */
export function protectedAt(place: Place): Refusal | null {
  if (place.zone === 'temp' || place.zone === 'temp-root') return null
  const isOurs = place.zone === 'workspace' || place.zone === 'workspace-root'
  // Of an uncertain path the last names may be known all the same.
  const subjects = [...(isOurs ? [place.relative] : []), ...(place.uncertain || !isOurs ? [place.full] : [])]
  const found = (isOurs ? inProject : elsewhere).find(one => subjects.some(subject => matches(one, subject)))
  return found ? refuse(found.category, found.what) : null
}

/** Without regard to case: some disks make no difference. */
function matches({ pattern, samples }: Protected, subject: string): boolean {
  if (pattern.test(subject)) return true
  if (!hasGlob(subject)) return false
  const glob = globPattern(subject.toLowerCase())
  return samples.some(sample => glob.test(sample.toLowerCase()))
}
