// Reads the arguments of a workflow from a file or from stdin.
import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { BeaverError, messageOf, whyUnreadable } from '@beaver/core'

/**
 * Reads the arguments of a workflow.
 *
 * @param file the path of the file; `-` reads stdin
 * @throws {BeaverError} `invalid_arguments` if the file cannot be read or is not JSON
 */
export const readArguments = (file: string, workflow: string): Promise<unknown> =>
  readJson(file, `one JSON object: the arguments of ${workflow}`)

/**
 * Reads JSON from a file.
 *
 * @param file the path of the file; `-` reads stdin
 * @param content what the file must contain, for the error message
 * @throws {BeaverError} `invalid_arguments` if the file cannot be read or is not JSON
 */
export async function readJson(file: string, content: string): Promise<unknown> {
  let text: string
  try {
    text = file === '-' ? await textOf(process.stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new BeaverError('invalid_arguments', `The file ${file} cannot be read: ${whyUnreadable(cause)}.`, {
      cause,
    })
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown
  } catch (cause) {
    const what = file === '-' ? 'The input' : `The file ${file}`
    throw new BeaverError(
      'invalid_arguments',
      `${what} is not JSON: ${messageOf(cause)}. It must contain ${content}.`,
      {
        cause,
      },
    )
  }
}
