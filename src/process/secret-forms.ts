/** The ways in which a known secret may be printed: as it is, in an address, in JSON (also twice), in base64. */
export function secretForms(values: readonly string[]): string[] {
  const forms = new Set<string>()
  for (const value of values) for (const form of formsOf(value)) if (form.length >= shortest) forms.add(form)
  // Longest first: a form may hold another one.
  return [...forms].sort((a, b) => b.length - a.length)
}

/** Anything shorter would be found all over the place. */
const shortest = 6

function formsOf(value: string): string[] {
  const plain = value.trim()
  if (plain.length < shortest) return []
  const json = JSON.stringify(plain).slice(1, -1)
  const forms = [plain, json, JSON.stringify(json).slice(1, -1), ...inAddress(plain), ...inBase64(plain)]
  // A key of many lines is often printed indented or line by line.
  if (plain.includes('\n'))
    forms.push(
      ...plain
        .split('\n')
        .map(line => line.trim())
        .filter(line => line.length >= 16),
    )
  return forms
}

function inAddress(value: string): string[] {
  // A lone half of a character pair cannot be encoded.
  if (!isWellFormed(value)) return []
  const encoded = encodeURIComponent(value)
  return [encoded, encoded.replace(/%20/g, '+'), encoded.replace(/%[0-9A-F]{2}/g, hex => hex.toLowerCase())]
}

function isWellFormed(value: string): boolean {
  return Buffer.from(value, 'utf8').toString('utf8') === value
}

/**
 * A secret inside a longer encoded text (`user:secret`) stands at one of three offsets; what is the same whatever
 * surrounds it is searched for.
 */
function inBase64(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8')
  return [0, 1, 2].flatMap(offset => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
    return core.length < 8 ? [] : [core, core.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
