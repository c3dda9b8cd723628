// Arguments of a tool that its schema mirrors into HTTP headers: `x-mcp-header` of the protocol of 2026
// (SEP-2243). An annotation is valid only on a text, an integer or a boolean that `properties` alone lead to,
// and with a name that is a token of HTTP and unique in any case of letters. An invalid annotation makes the
// tool invalid. An unsafe value is sent in base64, so no argument can add a header.

interface Mirrored {
  readonly path: readonly string[]
  /** The header without its prefix. */
  readonly header: string
}

export type MirroredHeaders =
  | { readonly kind: 'valid'; readonly mirrored: readonly Mirrored[] }
  | { readonly kind: 'invalid'; readonly reason: string }

const annotation = 'x-mcp-header'
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
/** Keywords that hold values instead of schemas. */
const valueKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', annotation])

/** Reads the annotations of an input schema, which is not nested too deep for recursion. */
export function mirroredHeaders(inputSchema: unknown): MirroredHeaders {
  const mirrored: Mirrored[] = []
  const seen = new Set<string>()
  const reason = visit(inputSchema, [], true)
  return reason === null ? { kind: 'valid', mirrored } : { kind: 'invalid', reason }

  /** @param reached whether only `properties` lead here */
  function visit(schema: unknown, path: readonly string[], reached: boolean): string | null {
    if (Array.isArray(schema))
      return first(schema.map((each): [unknown, readonly string[], boolean] => [each, path, false]))
    if (typeof schema !== 'object' || schema === null) return null
    const fault =
      annotation in schema ? read(schema as Readonly<Record<string, unknown>>, path, reached) : null
    if (fault !== null) return fault
    return first(
      Object.entries(schema).flatMap(
        ([key, value]: [string, unknown]): [unknown, readonly string[], boolean][] => {
          if (valueKeywords.has(key)) return []
          // The keys of `properties` name arguments, also if a key equals a keyword.
          if (key === 'properties' && typeof value === 'object' && value !== null)
            return Object.entries(value).map(([name, each]: [string, unknown]) => [
              each,
              [...path, name],
              reached,
            ])
          return [[value, [...path, key], false]]
        },
      ),
    )
  }

  function first(places: readonly [unknown, readonly string[], boolean][]): string | null {
    for (const place of places) {
      const fault = visit(...place)
      if (fault !== null) return fault
    }
    return null
  }

  function read(
    schema: Readonly<Record<string, unknown>>,
    path: readonly string[],
    reached: boolean,
  ): string | null {
    const name = schema[annotation]
    const at = `its ${annotation}${path.length === 0 ? '' : ` at ${path.join('.')}`}`
    if (!reached || path.length === 0) return `${at} is not on a plain property`
    if (typeof name !== 'string' || !token.test(name)) return `${at} is not the name of a header`
    if (!types.has(schema['type'])) return `${at} is on a value that is no string, integer or boolean`
    if (seen.has(name.toLowerCase())) return `${at} names the header ${name}, which another property has`
    seen.add(name.toLowerCase())
    mirrored.push({ path, header: name })
    return null
  }
}

/**
 * The headers of one call. An argument that is absent, `null` or of another type has none.
 *
 * @example
 * headersOfCall([{ path: ['region'], header: 'Region' }], { region: 'eu' }) // { 'Mcp-Param-Region': 'eu' }
 */
export function headersOfCall(mirrored: readonly Mirrored[], args: unknown): Record<string, string> {
  return Object.fromEntries(
    mirrored.flatMap(({ path, header }) => {
      const text = textOf(
        path.reduce<unknown>(
          (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
          args,
        ),
      )
      return text === null
        ? []
        : [
            [
              `Mcp-Param-${header}`,
              isSafe(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`,
            ],
          ]
    }),
  )
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'boolean' || Number.isSafeInteger(value) ? String(value) : null
}

/** Whether a text is a valid header as it is, and does not look like base64 of one. */
const isSafe = (text: string): boolean =>
  /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(text) &&
  !(text.startsWith('=?base64?') && text.endsWith('?='))
