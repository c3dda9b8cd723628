// A JSON file of the configuration's: a profile, a definition. What keeps it from being read is a diagnostic.
import { readFile } from 'node:fs/promises'
import { messageOf } from '@beaver/core'
import type { LoadDiagnostic } from './load-diagnostic.ts'

const bytesMax = 1024 * 1024

/** `undefined` when it cannot be read, with the reason told. */
export async function readJsonFile(file: string, diagnostics: LoadDiagnostic[]): Promise<unknown> {
  const tell = (message: string): void => void diagnostics.push({ file, severity: 'error', message })
  try {
    const bytes = await readFile(file)
    if (bytes.length > bytesMax) return tell(`It has ${bytes.length} bytes; at most ${bytesMax} are read.`)
    return JSON.parse(bytes.toString().replace(/^\uFEFF/, '')) as unknown
  } catch (error) {
    return tell(error instanceof SyntaxError ? `It is not JSON: ${error.message}.` : `It cannot be read: ${messageOf(error)}.`)
  }
}
