// The commands that an MCP client shows to its user, who types them in another folder than that of `beaver
// mcp`.
import { shellWord } from '@beaver/core'
import { resolve } from 'node:path'
import type { Config } from '@beaver/platform'

/** Returns the whole command for the words after `beaver`. */
export type PersonCommand = (words: string) => string

/**
 * Makes the function that returns commands.
 *
 * @param named whether `beaver mcp` was started with `--home`. If so, the commands name the home, too.
 * Otherwise they name the home only if it is not the default home of `folder`
 */
export function personCommand(
  { home, nats_url }: Pick<Config, 'home' | 'nats_url'>,
  named: boolean,
  folder = process.cwd(),
): PersonCommand {
  const isNeeded = named || (nats_url === undefined && home !== resolve(folder, '.beaver'))
  return (words) => `beaver ${words}${isNeeded ? ` --home ${shellWord(home)}` : ''}`
}
