// The arguments of a call as fields that a person can change: a text as it is, with its line breaks, and
// everything else as JSON. What nobody touched stays exactly as it was. Pure.

export interface ArgumentField {
  readonly name: string
  /** `text`: the field has the text itself. `json`: it has JSON. */
  readonly kind: 'text' | 'json'
  /** What the field has at first. */
  readonly initial: string
}

/** More arguments than a person would look through are one field. */
const fieldsMax = 20

/** A field of a page would change these characters without anybody's wish. */
// oxlint-disable-next-line no-control-regex
const unkept = /[\0-\x08\x0B-\x1F\x7F]/

/** @returns `null`: the arguments are no object that can be shown in fields */
export function argumentFields(text: string): readonly ArgumentField[] | null {
  const given = objectOf(text)
  if (given === null) return null
  const entries = Object.entries(given)
  if (entries.length === 0 || entries.length > fieldsMax) return null
  return entries.map(([name, value]) =>
    typeof value === 'string' && value.isWellFormed() && !unkept.test(value)
      ? { name, kind: 'text', initial: value }
      : { name, kind: 'json', initial: JSON.stringify(value, null, 2) },
  )
}

export type ReadArguments =
  | { readonly text: string }
  /** The field that is no JSON. */
  | { readonly fault: string }

/** @param texts what the fields have now, by name */
export function readArguments(
  fields: readonly ArgumentField[],
  texts: Readonly<Record<string, string>>,
): ReadArguments {
  const entries: [string, unknown][] = []
  for (const { name, kind, initial } of fields) {
    const text = Object.hasOwn(texts, name) ? (texts[name] ?? initial) : initial
    if (kind === 'text') entries.push([name, text])
    else
      try {
        entries.push([name, JSON.parse(text)])
      } catch {
        return { fault: name }
      }
  }
  // `fromEntries` also makes a field of its own of the name `__proto__`.
  return { text: JSON.stringify(Object.fromEntries(entries), null, 2) }
}

/** The object that a text is as JSON. `null`: it is none. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
