// The command with which a person runs Beaver again: `beaver` if it is on PATH, otherwise the path of the
// launcher.
import { accessSync, constants, realpathSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The command. A path is relative to `INIT_CWD`, the folder in which npm was called, or to `cwd`. */
export function commandName(env: NodeJS.ProcessEnv = process.env, cwd = process.cwd()): string {
  const command = commandAnywhere(env)
  if (command !== launcher) return command
  const short = relative(env['INIT_CWD'] ?? cwd, launcher)
  if (short.startsWith('..')) return short.length < launcher.length ? short : launcher
  return `./${short}`
}

/** The command for a script that runs in any folder: a path is absolute. */
export function commandAnywhere(env: NodeJS.ProcessEnv = process.env): string {
  if (!executable(launcher)) return 'beaver'
  const found = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .some(
      (folder) =>
        executable(join(folder, 'beaver')) && realpathSync(join(folder, 'beaver')) === realpathSync(launcher),
    )
  return found ? 'beaver' : launcher
}

const launcher = fileURLToPath(new URL('../../../bin/beaver', import.meta.url))

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
