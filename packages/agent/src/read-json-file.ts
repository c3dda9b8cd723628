// Reads a JSON file of the configuration: a profile or a definition. A file that cannot be read gives a
// diagnostic.
import { readFile } from 'node:fs/promises'
import { messageOf } from '@beaver/core'
import type { LoadDiagnostic } from './load-diagnostic.ts'

const bytesMax = 1024 * 1024

/** Returns `undefined` if the file cannot be read, and adds the reason to `diagnostics`. */
export async function readJsonFile(file: string, diagnostics: LoadDiagnostic[]): Promise<unknown> {
  const tell = (message: string): void => void diagnostics.push({ file, severity: 'error', message })
  try {
    const bytes = await readFile(file)
    if (bytes.length > bytesMax)
      return tell(`It has ${bytes.length} bytes. Beaver reads at most ${bytesMax}.`)
    return JSON.parse(bytes.toString().replace(/^\uFEFF/, '')) as unknown
  } catch (error) {
    return tell(
      error instanceof SyntaxError
        ? `It is not JSON: ${error.message}.`
        : `It cannot be read: ${messageOf(error)}.`,
    )
  }
}
