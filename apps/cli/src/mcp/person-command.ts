// The commands that an MCP client shows to its person, who types them in another folder than that of `beaver
// mcp`.
import { resolve } from 'node:path'
import type { Config } from '@beaver/platform'
import { shellWord } from '../text/shell-word.ts'

/** The whole command for what follows `beaver`. */
export type PersonCommand = (words: string) => string

/**
 * @param named whether `beaver mcp` was started with `--home`. Otherwise the home is named if the command
 * would not look there, in `folder`
 */
export function personCommand(
  { home, nats_url }: Pick<Config, 'home' | 'nats_url'>,
  named: boolean,
  folder = process.cwd(),
): PersonCommand {
  const isNeeded = named || (nats_url === undefined && home !== resolve(folder, '.beaver'))
  return (words) => `beaver ${words}${isNeeded ? ` --home ${shellWord(home)}` : ''}`
}
