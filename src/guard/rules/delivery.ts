import type { Call, Rule } from '../call.ts'
import { isUnknown, show } from '../marks.ts'
import { parseOptions, valuesOf } from '../options.ts'
import { placesOf } from '../paths.ts'
import { type Refusal, refuse } from '../verdict.ts'
import { judgeWrite } from '../writes.ts'
import { subcommandRules, wordsOf } from './words.ts'

/** What reaches beyond this machine for good, and containers. */
export const deliveryRules: readonly Rule[] = [
  ...subcommandRules([
    {
      category: 'package-publish',
      what: 'would publish, or change who may',
      unless: ['--dry-run', '-n'],
      lines: [
        ...[
          'npm publish|unpublish|deprecate|star|access|hook|team|org',
          'npm dist-tag|dist-tags add|rm|set',
          'npm owner|author add|rm',
        ],
        ...[
          'npm token create|revoke|delete',
          'npm login|adduser|logout',
          'npm trust *',
          'pnpm publish',
          'pnpm -r publish',
        ],
        ...[
          'yarn publish',
          'yarn npm publish|login',
          'bun publish',
          'cargo publish|yank|owner|login',
          'twine upload|register',
        ],
        ...[
          'poetry publish',
          'uv publish',
          'flit publish',
          'hatch publish',
          'pdm publish',
          'gem push|yank|owner|signin',
          'docker|podman push|login',
        ],
        ...[
          'docker image|buildx|manifest push',
          'podman image|manifest push',
          'helm push',
          'gh release create|upload|delete|edit',
        ],
        ...[
          'gh workflow run|enable|disable',
          'gh secret|variable set|delete|remove',
          'gh pr merge',
          'mvn|mvnw deploy',
          'mvn|mvnw * deploy',
          'gradle|gradlew publish',
        ],
        ...[
          'lerna publish',
          'changeset publish',
          'semantic-release',
          'release-it',
          'np',
          'vsce publish',
          'ovsx publish',
        ],
        ...[
          'dotnet nuget push',
          'nuget push',
          'pod trunk',
          'dart pub publish',
          'flutter pub publish',
          'pub publish',
          'hex publish',
          'mix hex.publish',
        ],
        ...[
          'goreleaser release',
          'jsr publish',
          'deno publish',
          'crane push|copy',
          'skopeo copy|delete',
          'oras push',
          'wrangler publish|deploy',
        ],
        ...[
          'vercel deploy|--prod',
          'netlify deploy',
          'firebase deploy',
          'fly|flyctl deploy',
          'eas submit',
          'conda upload',
          'anaconda upload',
        ],
      ],
    },
    {
      category: 'infra-destroy',
      what: 'would destroy or change what runs elsewhere',
      unless: ['--dry-run', '--dry-run=client', '--dry-run=server'],
      lines: [
        ...[
          'terraform|tofu|terragrunt destroy|apply|taint|import',
          'terraform|tofu|terragrunt state rm|mv|push',
          'terraform|tofu workspace delete',
        ],
        ...[
          'terragrunt run-all',
          'pulumi destroy|up|cancel',
          'pulumi stack rm',
          'cdk destroy|deploy',
          'cdktf destroy|deploy',
          'sls|serverless remove|deploy',
        ],
        ...[
          'kubectl delete|drain|cordon|replace|apply|scale|patch|edit|rollout',
          'helm uninstall|delete|upgrade|rollback',
          'kustomize delete',
          'eksctl delete',
        ],
        ...[
          'kind delete',
          'minikube delete',
          'k3d cluster delete',
          'argocd app delete',
          'gh repo delete|archive|rename|edit|transfer',
        ],
        ...[
          'aws s3 rb|rm',
          'aws s3api delete-bucket|delete-object|delete-objects|put-bucket-policy',
          'gcloud * delete',
          'gcloud * * delete',
          'gcloud * * * delete',
        ],
        ...[
          'az * delete|purge',
          'az * * delete|purge',
          'az * * * delete',
          'gsutil rm|rb',
          'doctl * delete',
          'doctl * * delete',
          'doctl compute droplet delete',
        ],
        ...[
          'heroku apps:destroy|pg:reset|addons:destroy|ps:stop|maintenance:on',
          'vercel remove|rm',
          'netlify sites:delete',
          'firebase projects:delete|firestore:delete',
        ],
        ...[
          'fly|flyctl destroy',
          'fly|flyctl apps destroy',
          'railway down|delete',
          'wrangler delete',
          'linode-cli * delete',
          'oc delete',
          'nomad job stop',
          'nomad stop',
          'vagrant destroy',
          'ansible *',
          'ansible-playbook *',
          'supabase projects delete',
        ],
      ],
    },
    {
      category: 'db-drop',
      what: 'would drop or empty a database',
      lines: [
        ...[
          'dropdb',
          'dropuser',
          'mysqladmin drop|flush-privileges|shutdown',
          'prisma migrate reset',
          'prisma db push --force-reset',
          'prisma db push --accept-data-loss',
        ],
        ...[
          'rake|rails db:drop|db:reset|db:purge|db:schema:load|db:truncate_all|db:migrate:reset|db:drop:all',
          'sequelize|sequelize-cli db:drop|db:migrate:undo:all',
          'typeorm schema:drop',
        ],
        ...[
          'knex migrate:rollback --all',
          'mikro-orm schema:drop|migration:fresh',
          'drizzle-kit drop',
          'artisan migrate:fresh|migrate:reset|db:wipe',
          'dbmate drop',
        ],
        ...[
          'supabase db reset',
          'ecto.drop',
          'mix ecto.drop|ecto.reset',
          'flyway clean',
          'liquibase drop-all|dropAll',
          'diesel database reset|drop',
          'sqlx database drop|reset',
        ],
        ...[
          'alembic downgrade base',
          'django-admin flush|sqlflush|reset_db',
          'mongodump --drop',
          'mongorestore --drop',
          'cockroach sql --drop',
          'doctrine:database:drop',
          'dropuser',
        ],
      ],
    },
  ]),
  {
    programs: ['aws'],
    judge: call => {
      const [, verb = ''] = wordsOf(call)
      return /^(?:delete|terminate|destroy|deregister|remove|purge|revoke|disable|stop|reset)-/u.test(verb)
        ? refuse('infra-destroy', `aws ${verb} would destroy what runs elsewhere`)
        : null
    },
  },
  {
    programs: ['gh', 'glab', 'hub'],
    judge: call => {
      const methods = valuesOf(parseOptions(call.args, '-X --method'), '-X', '--method')
      return wordsOf(call)[0] === 'api' && methods.some(method => /^(?:delete|put|patch)$/iu.test(method))
        ? refuse('infra-destroy', 'gh api would change or delete something on the server')
        : null
    },
  },
  {
    programs: ['python', 'php', 'ruby', 'node'],
    judge: ({ args }) =>
      /\bmanage\.py (?:flush|reset_db|sqlflush|migrate \w+ zero)|\bartisan (?:migrate:fresh|migrate:reset|db:wipe)|\brails db:(?:drop|reset)/u.test(
        args.slice(0, 4).join(' '),
      )
        ? refuse('db-drop', 'it would drop or empty a database')
        : args[0] === '-m' && args[1] === 'twine' && args[2] === 'upload'
          ? refuse('package-publish', 'twine would publish a package')
          : null,
  },
  {
    programs:
      'psql mysql mariadb pgcli mycli sqlcmd isql clickhouse-client usql cockroach duckdb sqlite3 bq snowsql mongo mongosh redis-cli cqlsh'.split(
        ' ',
      ),
    judge: judgeDatabase,
  },
  { programs: ['docker', 'podman', 'nerdctl', 'ctr'], judge: judgeContainer },
  {
    programs: ['docker-compose'],
    judge: ({ args }) =>
      args.includes('down') && args.some(arg => /^-v$|^--volumes/u.test(arg)) ? volumes() : null,
  },
  {
    programs: ['kubectl'],
    judge: ({ args }) =>
      /hostPID|hostNetwork|hostPath|privileged/u.test(args.join(' '))
        ? refuse('container-escape', 'kubectl would start a container with rights over its machine')
        : null,
  },
]

const drops =
  /\bdrop\s+(?:database|schema|table|user|role|index|view|owned|keyspace|collection)\b|\btruncate\s+(?:table\s+)?["'`\w]|\balter\s+table\s+\S+\s+drop\b|\bdropDatabase\s*\(|\.drop\s*\(\s*\)|\b(?:deleteMany|remove)\s*\(\s*(?:\{\s*\})?\s*\)|^\s*flush(?:all|db)\b/imu

function judgeDatabase(call: Call): Refusal | null {
  const { program, args, scope } = call
  const stdin = scope.stdin ?? ''
  const sql = [...args, args.join(' '), stdin]
    .join('\n')
    .replace(/\/\*.*?\*\//gsu, ' ')
    .replace(/--[^\n]*/gu, match => (/^--\w/u.test(match) ? match : ' '))
  if (program === 'sqlite3') {
    const [text = ''] = args.filter(arg => !arg.startsWith('-'))
    const refusal = text === '' ? null : judgeWrite({ program, text, scope })
    if (refusal || isOwnFile(call)) return refusal
  }
  const isEmptying =
    sql.split(/[;\n]/u).some(one => /\bdelete\s+from\s+\S+/iu.test(one) && !/\bwhere\b/iu.test(one)) &&
    !/\bwhere\b/iu.test(sql)
  if (drops.test(sql) || isEmptying || args.some(arg => /^flush(?:all|db)$/iu.test(arg)))
    return refuse('db-drop', `${program} would drop or empty a database`)
  return isUnknown(stdin)
    ? refuse('db-drop', `nobody can know what ${program} would do with its input`)
    : null
}

function isOwnFile(call: Call): boolean {
  const [file = ''] = call.args.filter(arg => !arg.startsWith('-'))
  if (file === ':memory:') return true
  const places = placesOf(file, call.scope.state.cwd, call.scope.session.context)
  return (
    file !== '' &&
    places.every(place => !place.uncertain && (place.zone === 'workspace' || place.zone === 'temp'))
  )
}

const volumes = () => refuse('container-escape', 'it would delete containers or volumes wholesale')

function judgeContainer(call: Call): Refusal | null {
  const { args, scope, program } = call
  const escapes = (what: string) => refuse('container-escape', `${program} would ${what}`)
  const words = wordsOf(call)
  const text = words.slice(0, 2).join(' ')
  const host = valuesOf(parseOptions(args.slice(0, 2), '-H --host'), '-H', '--host')
  if (/\bbuild\b/u.test(text) && args.includes('--push'))
    return refuse('package-publish', `${program} would publish an image`)
  if (host.some(one => !/^unix:/u.test(one))) return escapes('talk with another machine')
  if (
    /^(?:system|volume|container|image|network|builder|buildx) prune/u.test(text) ||
    /^volume (?:rm|remove)/u.test(text)
  )
    return volumes()
  if (/^compose\b/u.test(text) && args.includes('down') && args.some(arg => /^-v$|^--volumes/u.test(arg)))
    return volumes()
  if (/^(?:rm|kill|stop|rmi)\b/u.test(text) && args.some(isUnknown)) return volumes()
  if (!/^(?:run|create|exec|container (?:run|create|exec)|compose (?:run|exec))/u.test(text)) return null
  const joined = args.join(' ')
  if (/--privileged(?!=false)/u.test(joined))
    return escapes('start a container with all rights over this machine')
  if (/--(?:pid|net|network|ipc|uts|userns|cgroupns)[= ]host\b/u.test(joined))
    return escapes('start a container inside this machine’s own namespaces')
  if (/--cap-add|--device|--security-opt[= ]\S*(?:unconfined|disable)/u.test(joined))
    return escapes('start a container with extra rights')
  if (/docker\.sock|podman\.sock|containerd\.sock/u.test(joined))
    return escapes('give a container the rights over all containers')
  const options = parseOptions(
    args,
    '-v --volume --mount -e --env -p --publish --name -w --workdir -u --user --network --net -l --label --entrypoint -h --hostname -m --memory',
  )
  const mounts = [
    ...valuesOf(options, '-v', '--volume').map(mount => mount.split(':')[0] ?? ''),
    ...valuesOf(options, '--mount').flatMap(mount => /(?:source|src)=([^,]+)/u.exec(mount)?.[1] ?? []),
  ]
  for (const mount of mounts) {
    if (!/^[/.~]|^[\uE000-\uE007]/u.test(mount)) continue
    const place = placesOf(mount, scope.state.cwd, scope.session.context).find(
      one => one.zone === 'outside' || one.uncertain,
    )
    if (place) return escapes(`give a container ${show(place.full)} of this machine`)
  }
  return null
}
