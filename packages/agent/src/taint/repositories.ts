// Finds the repositories of strangers in a workspace: a folder below it with a `.git` of its own that names a
// remote, or that is a submodule. A repository that was only made here names none, and a worktree belongs to
// the repository of the user. `egress.own_paths` names others that are the user's own.
import { readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { type EgressRules, isOwnPath } from './egress-rules.ts'

const configCharsMax = 100_000

/**
 * Returns whether a path relative to the workspace is in the repository of a stranger. A folder ends in `/`.
 * Each folder is looked at once.
 */
export function strangersRepositories(
  workspace: string,
  rules: EgressRules,
): (path: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>()
  // Most results name no path, so the workspace is asked for only when one does.
  let root: Promise<string> | null = null
  const isOne = async (folder: string): Promise<boolean> => {
    root ??= realpath(workspace).catch(() => workspace)
    return isFetched(join(await root, folder, '.git'))
  }
  return async (path) => {
    const folders = path.split('/').slice(0, -1)
    if (isAbsolute(path) || folders.includes('..') || isOwnPath(path, rules)) return false
    for (let depth = 1; depth <= folders.length; depth++) {
      const folder = folders.slice(0, depth).join('/')
      if (folder === '' || folder === '.') continue
      const looked = known.get(folder) ?? isOne(folder)
      known.set(folder, looked)
      if (await looked) return true
    }
    return false
  }
}

async function isFetched(git: string): Promise<boolean> {
  try {
    if ((await stat(git)).isDirectory()) return /^\s*\[remote\b/m.test(await startOf(join(git, 'config')))
    return !/[/\\]worktrees[/\\]/.test(await startOf(git))
  } catch {
    return false
  }
}

const startOf = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8')).slice(0, configCharsMax)
