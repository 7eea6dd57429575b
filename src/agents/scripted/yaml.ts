import { parseDocument, visit } from 'yaml'

/** A number that would not be written the same way again (`8.10`, `007`) stays as it stands: it is a name, not an amount. */
export function parseYaml(text: string): unknown {
  const document = parseDocument(text)
  const first = document.errors[0]
  if (first) throw new Error(first.message)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'number' && node.source !== undefined && String(node.value) !== node.source)
        node.value = node.source
    },
  })
  return document.toJS()
}
