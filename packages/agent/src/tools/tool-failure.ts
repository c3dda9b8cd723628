// The errors that a tool throws for the model to read. Their names and codes cross the border of a cell;
// their classes do not.

/**
 * The arguments do not fit the tool. The message is for the model: it says what to change.
 *
 * @example
 * new ToolInputError('Give a bed, such as "north".').name // => 'ToolInputError'
 */
export class ToolInputError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolInputError'
  }
}

/**
 * A failure that the model should read: what happened, to which thing, and what to do. `code` is for
 * programs.
 *
 * @example
 * const failure = new ToolFailure('not_found', 'There is no bed "west". The beds are north and south.')
 * failure.code // => 'not_found'
 */
export class ToolFailure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'ToolFailure'
    this.code = code
  }
}

/** The text of anything that was thrown, bounded and well-formed. It never throws itself. */
export function thrownText(error: unknown): string {
  return (
    textOf(() => (error instanceof Error ? error.message : String(error))) ??
    'something was thrown that cannot be shown.'
  )
}

/**
 * Reads a thrown value as a failure, also if it comes from another copy of these classes. `null`: a crash.
 */
export function failureOf(
  error: unknown,
): { readonly kind: 'input' | 'failure'; readonly code: string; readonly message: string } | null {
  const name = textOf(() => (error instanceof Error ? error.name : ''))
  if (name === 'ToolInputError')
    return { kind: 'input', code: 'invalid_arguments', message: thrownText(error) }
  const code = name === 'ToolFailure' ? textOf(() => (error as ToolFailure).code) : null
  return code === null || code === ''
    ? null
    : { kind: 'failure', code: code.slice(0, codeCharsMax), message: thrownText(error) }
}

const codeCharsMax = 64
const messageCharsMax = 10_000

function textOf(read: () => unknown): string | null {
  try {
    const text = read()
    if (typeof text !== 'string') return null
    return (text.length > messageCharsMax ? `${text.slice(0, messageCharsMax)} … [cut]` : text).toWellFormed()
  } catch {
    return null
  }
}
