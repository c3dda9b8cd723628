// Finds and reads `beaver.config.json`. What its content means is in config.ts.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { BeaverError, messageOf, whyUnreadable } from '@beaver/core'

type Environment = Readonly<Record<string, string | undefined>>

interface FoundFile {
  readonly file: string | null
  readonly content: Record<string, unknown>
  /** Whether the user or a program named it. */
  readonly named: boolean
}

/** @throws {BeaverError} `invalid_configuration` if it cannot be read, or is no JSON object */
export function readConfigFile(
  flags: { readonly config?: string | undefined },
  env: Environment,
  cwd: string,
): FoundFile {
  const path = flags.config ?? (env['BEAVER_CONFIG'] || undefined)
  const named = path !== undefined
  const file = resolve(cwd, path ?? 'beaver.config.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    if (!named && (cause as NodeJS.ErrnoException).code === 'ENOENT')
      return { file: null, content: {}, named: false }
    throw new BeaverError(
      'invalid_configuration',
      `The configuration file ${file} cannot be read: ${whyUnreadable(cause)}.`,
      { cause },
    )
  }
  try {
    const content: unknown = JSON.parse(text)
    if (typeof content === 'object' && content !== null && !Array.isArray(content))
      return { file, content: content as Record<string, unknown>, named }
  } catch (cause) {
    throw new BeaverError(
      'invalid_configuration',
      `The configuration file ${file} is not JSON: ${messageOf(cause)}`,
      { cause },
    )
  }
  throw new BeaverError(
    'invalid_configuration',
    `The configuration file ${file} must contain one JSON object.`,
  )
}
