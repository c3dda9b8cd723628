// What is wrong with a skill, a definition or a profile that was loaded. It is returned, never thrown.

export interface LoadDiagnostic {
  readonly file: string
  /** `error`: the content of the file cannot be used. */
  readonly severity: 'warning' | 'error'
  readonly message: string
}
