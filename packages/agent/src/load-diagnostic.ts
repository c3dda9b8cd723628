// What was wrong with a file that was loaded: a skill, a definition, a profile. Told, never thrown.

export interface LoadDiagnostic {
  readonly file: string
  /** `error`: what the file holds cannot be used. */
  readonly severity: 'warning' | 'error'
  readonly message: string
}
