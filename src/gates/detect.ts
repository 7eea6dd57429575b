// Temporary stand-in so that the engine compiles; the gates helper overwrites this file.
export function detectVerify(_root: string): { commands: string[]; because: string } | null {
  return null
}
