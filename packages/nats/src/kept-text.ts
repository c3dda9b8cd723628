// A text that outlives the process, such as a file of the home.

export interface KeptText {
  /** `null`: there is none. */
  read(): string | null
  write(text: string): Promise<void>
}

/** The value of a text in JSON; `null` if it is none. */
export function parsedText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
