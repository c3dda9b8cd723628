// What is wrong with a file that was loaded: a skill, a tool module, a definition or a profile. It is returned, never thrown.

/** A diagnostic about one file. */
export interface LoadDiagnostic {
  readonly file: string
  /** `error`: the content of the file cannot be used. */
  readonly severity: 'warning' | 'error'
  readonly message: string
}
