// The command with which a person runs Beaver again. Of a checkout: `beaver` if it is on PATH, otherwise the
// path of the launcher. Of the package: `beaver` if it is on the PATH of the person's shell, otherwise by npx.
import { accessSync, constants, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative, sep } from 'node:path'
import { type Installation, installation } from '@beaver/platform/installation'

/** The command. A path is relative to `INIT_CWD`, the folder in which npm was called, or to `cwd`. */
export function commandName(
  env: NodeJS.ProcessEnv = process.env,
  cwd = process.cwd(),
  own: Installation = (known ??= installation()),
): string {
  const command = commandAnywhere(env, own)
  if (command === 'beaver') return command
  const here = env['INIT_CWD'] ?? cwd
  if (own.kind === 'package') {
    // Another package has the name `beaver`: npx may take the short name only where this one is installed.
    const project = own.name.split('/').reduce((folder) => dirname(folder), dirname(own.folder))
    return `${here}${sep}`.startsWith(`${project}${sep}`) ? 'npx beaver' : `npx ${own.name}`
  }
  const short = relative(here, command)
  if (short.startsWith('..')) return short.length < command.length ? short : command
  return `./${short}`
}

/** The command for a script that runs in any folder: a path is absolute. */
export function commandAnywhere(
  env: NodeJS.ProcessEnv = process.env,
  own: Installation = (known ??= installation()),
): string {
  const launcher = join(own.folder, 'bin', own.kind === 'checkout' ? 'beaver' : 'beaver.mjs')
  const folders = (env['PATH'] ?? '')
    .split(delimiter)
    // npm and npx add the folders of packages for the time of one command. The person's shell has them not.
    .filter((folder) => folder !== '' && !(own.kind === 'package' && folder.endsWith(packageCommands)))
  return folders.some((folder) => leadsTo(join(folder, 'beaver'), launcher)) ? 'beaver' : launcher
}

let known: Installation | null = null
const packageCommands = join('node_modules', '.bin')

function leadsTo(file: string, launcher: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return realpathSync(file) === realpathSync(launcher)
  } catch {
    return false
  }
}
