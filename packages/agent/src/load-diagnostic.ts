// What is wrong with a file that was loaded: a skill, a tool module, a definition or a profile. It is
// returned, never thrown.
import { basename } from 'node:path'

/** A diagnostic about one file. */
export interface LoadDiagnostic {
  readonly file: string
  /** `error`: the content of the file cannot be used. */
  readonly severity: 'warning' | 'error'
  readonly message: string
}

/**
 * What is wrong with the file of this name, if it is broken: its path and its first error. `null`: no broken
 * file has the name.
 *
 * @param name without the extension `.json`
 * @example
 * const diagnostics = [{ file: '/w/tides.json', severity: 'error' as const, message: 'It is not JSON.' }]
 * brokenFile('tides', diagnostics) // => '/w/tides.json: It is not JSON.'
 * brokenFile('moon', diagnostics) // => null
 */
export function brokenFile(name: string, diagnostics: readonly LoadDiagnostic[]): string | null {
  const found = diagnostics.find(
    ({ file, severity }) => severity === 'error' && basename(file, '.json') === name,
  )
  return found === undefined ? null : `${found.file}: ${found.message}`
}
