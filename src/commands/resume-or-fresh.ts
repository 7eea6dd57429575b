import type { Prepared } from '../engine/prepare.ts'

export type Ask = (question: string) => Promise<string>

/**
 * What becomes of an earlier loop's unfinished work (S3-41): what the flags say; else a person is asked, where there is
 * one; else it is gone on with. Null: there is none.
 */
export async function resumeOrFresh(
  options: { resume?: boolean; fresh?: boolean; json?: boolean; once: boolean },
  { layout, project }: Pick<Prepared, 'layout' | 'project'>,
  ask: Ask | null = person(),
): Promise<'resume' | 'fresh' | null> {
  if (options.fresh) return 'fresh'
  if (options.resume) return 'resume'
  const left = layout.leftover?.(project) ?? null
  if (left === null) return null
  // Who goes step by step is in the middle of it.
  if (options.once || options.json || !ask) return 'resume'
  for (;;) {
    const answer = (await ask(`${left}: resume or fresh? `)).trim().toLowerCase()
    if ('resume'.startsWith(answer)) return 'resume'
    if ('fresh'.startsWith(answer)) return 'fresh'
  }
}

/** Nobody is asked who cannot answer. */
function person(): Ask | null {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return null
  return async question => {
    const { createInterface } = await import('node:readline/promises')
    const lines = createInterface({ input: process.stdin, output: process.stdout })
    try {
      return await lines.question(question)
    } finally {
      lines.close()
    }
  }
}
