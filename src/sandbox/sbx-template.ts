/** Largest prompt that goes in as an argument: one argument may have 128 KiB, here and in there. */
export const longestArgument = 100_000

/**
 * The arguments for `run NAME -- …`, which starts the template's agent with the template's own flags (S1-13): without the
 * program, without the flag that skips permissions, with the prompt. null where that way cannot be taken:
 * - what stands first must be a flag; a bare word would take the place of the template's flags, and the headless form of
 *   codex and opencode is a sub-command,
 * - a prompt that is too long for an argument, or that would be taken for an option itself.
 */
export function templateArgs(agent: string, argv: readonly string[], prompt: Buffer): string[] | null {
  const template = Object.hasOwn(templates, agent) ? templates[agent] : undefined
  if (!template || !isArgument(prompt)) return null
  const rest = without(argv.slice(1), template.skips)
  const others = rest.filter(word => word !== '-p')
  return ['-p', prompt.toString('utf8'), ...others]
}

/** Agents whose headless form has flags only, and the flags by which theirs says what the template says already. */
const templates: Record<string, { skips: readonly (readonly string[])[] }> = {
  claude: { skips: [['--dangerously-skip-permissions']] },
  copilot: { skips: [['--allow-all'], ['--allow-all-tools'], ['--yolo']] },
  // It refuses two of them together.
  gemini: { skips: [['--approval-mode', 'yolo'], ['--approval-mode=yolo'], ['--yolo'], ['-y']] },
}

function isArgument(prompt: Buffer): boolean {
  if (prompt.length === 0 || prompt.length > longestArgument || prompt.includes(0)) return false
  const text = prompt.toString('utf8')
  return !text.startsWith('-') && Buffer.from(text).equals(prompt)
}

function without(words: readonly string[], skips: readonly (readonly string[])[]): string[] {
  const kept: string[] = []
  for (let at = 0; at < words.length; ) {
    const skip = skips.find(one => one.every((word, index) => words[at + index] === word))
    if (!skip) kept.push(words[at] ?? '')
    at += skip?.length ?? 1
  }
  return kept
}
