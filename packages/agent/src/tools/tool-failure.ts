// What a tool throws so that the model reads it. The names and codes travel out of cells, the classes do not.

/** The arguments do not fit the tool. The message is for the model: it says what to change. */
export class ToolInputError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolInputError'
  }
}

/** A failure the model should read: what happened, with which thing, what to do. `code` is for programs. */
export class ToolFailure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'ToolFailure'
    this.code = code
  }
}

/** What anything thrown says, whatever it is: never throws itself. Bounded, well-formed. */
export function thrownText(error: unknown): string {
  return textOf(() => (error instanceof Error ? error.message : String(error))) ?? 'something was thrown that cannot be shown.'
}

/** A thrown thing as the failure it is; `null`: a crash. Also of another copy of these classes. */
export function failureOf(error: unknown): { readonly kind: 'input' | 'failure'; readonly code: string; readonly message: string } | null {
  const name = textOf(() => (error instanceof Error ? error.name : ''))
  if (name === 'ToolInputError') return { kind: 'input', code: 'invalid_arguments', message: thrownText(error) }
  const code = name === 'ToolFailure' ? textOf(() => (error as ToolFailure).code) : null
  return code === null || code === '' ? null : { kind: 'failure', code: code.slice(0, codeCharsMax), message: thrownText(error) }
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
