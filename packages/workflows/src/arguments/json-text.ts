// Reads JSON as models write it into a text: strict, or nearly JSON. Text that is nearly JSON is used for
// advice only and never accepted.

/**
 * Whether a value is an object with fields.
 *
 * @example
 * isRecord({}) // => true
 * isRecord([]) // => false
 */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value of a JSON text. `undefined` if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface NearJson {
  readonly value: unknown
  /** Why the text is not JSON, as ends of "it has …". Empty if it is JSON. */
  readonly faults: readonly string[]
}

const repairs: readonly (readonly [fault: string, repair: (text: string) => string])[] = [
  ['a code fence around it', (text) => /^```[^\n`]*\n([\s\S]*?)\n?```$/.exec(text)?.[1] ?? text],
  ['a comma before a closing bracket', (text) => text.replaceAll(/,(?=\s*[}\]])/g, '')],
  ['typographic quotes', (text) => text.replaceAll(/[\u201c-\u201f\uff02]/g, '"')],
  [
    'full-width commas or colons',
    (text) =>
      text
        .replaceAll(/(?<=["\]}\d])\s*[\uff0c\u3001](?=\s*["[{\d])/g, ',')
        .replaceAll(/(?<=")\s*\uff1a(?=\s*["[{\d])/g, ':'),
  ],
  [
    'Python in place of JSON',
    (text) =>
      (text.includes('"') ? text : text.replaceAll("'", '"')).replaceAll(/\b(?:None|True|False)\b/g, (word) =>
        word === 'None' ? 'null' : word.toLowerCase(),
      ),
  ],
]

/** The object or array that a text probably means. `null` if none can be read. */
export function nearJson(text: string): NearJson | null {
  let repaired = text.trim()
  if (!/^(?:[[{]|```)/.test(repaired)) return null
  const faults: string[] = []
  for (const [fault, repair] of [['', (same: string) => same] as const, ...repairs]) {
    const next = repair(repaired).trim()
    if (next !== repaired) faults.push(fault)
    repaired = next
    const value = parsedJson(repaired)
    if (typeof value === 'object' && value !== null) return { value, faults }
  }
  return null
}
