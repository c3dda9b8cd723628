// The version of Beaver that this process runs.
import { readFileSync } from 'node:fs'

/** The packages of Beaver have one version. */
export const beaverVersion: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version
