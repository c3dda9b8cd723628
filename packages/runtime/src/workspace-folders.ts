// Checks the folder that a task names as its workspace. Its real path, after all links, must be below a root
// of the configuration, and must not be a folder of the operating system or the home of Beaver. If the
// configuration names no roots and the system belongs to one user of the machine, that user's own folders are
// allowed too, but not for requests over the gateway. An existing folder is trusted for `trustedMs`, because
// a client that submits hundreds of tasks a second names the same folder each time.
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import type { Clock } from '@beaver/core'

export type WorkspaceFolder =
  | { readonly kind: 'folder'; readonly real: string }
  | { readonly kind: 'file' }
  | { readonly kind: 'missing' }
  /** `system`: no configuration allows it. */
  | { readonly kind: 'refused'; readonly why: 'outside' | 'system' }

export interface WorkspaceFolders {
  /** @param how `rootsOnly`: the folders of the user are not allowed. Default: false */
  at(path: string, how?: { readonly rootsOnly?: boolean }): Promise<WorkspaceFolder>
}

export interface WorkspaceRoots {
  /** Absolute paths. */
  readonly roots: readonly string[]
  /** Whether folders that the user of this process owns are allowed besides. */
  readonly owned: boolean
  /** The data folder of Beaver. */
  readonly home: string
}

const trustedMs = 1_000
const keptMax = 1_000

export function workspaceFolders(clock: Clock, allowed: WorkspaceRoots): WorkspaceFolders {
  /** When each folder was last seen, with its real path. Bounded. */
  const seen = new Map<string, { readonly at: number; readonly real: string }>()
  return {
    async at(path, { rootsOnly = false } = {}) {
      const now = clock.now()
      const key = `${rootsOnly ? 'roots' : 'any'} ${path}`
      const last = seen.get(key)
      if (last !== undefined && now - last.at >= 0 && now - last.at < trustedMs)
        return { kind: 'folder', real: last.real }
      seen.delete(key)
      const found = await lookAt(path, rootsOnly ? { ...allowed, owned: false } : allowed)
      if (found.kind !== 'folder') return found
      if (seen.size >= keptMax) seen.delete(seen.keys().next().value as string)
      seen.set(key, { at: now, real: found.real })
      return found
    },
  }
}

async function lookAt(path: string, { roots, owned, home }: WorkspaceRoots): Promise<WorkspaceFolder> {
  const real = await realpath(path).catch(() => null)
  if (real === null) return { kind: 'missing' }
  const found = await stat(real).catch(() => null)
  if (found === null) return { kind: 'missing' }
  if (!found.isDirectory()) return { kind: 'file' }
  if (isSystemFolder(real) || isBelow(await realOr(home), real)) return { kind: 'refused', why: 'system' }
  if (owned && found.uid === process.getuid?.()) return { kind: 'folder', real }
  for (const root of roots) if (isBelow(await realOr(root), real)) return { kind: 'folder', real }
  return { kind: 'refused', why: 'outside' }
}

const realOr = (path: string): Promise<string> => realpath(path).catch(() => path)

const isBelow = (root: string, path: string): boolean => {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Neither these nor anything below them is a workspace. */
const systemTrees = ['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr/bin', '/usr/lib', '/usr/sbin', '/System', '/Library', '/private/etc'] // prettier-ignore
/** Not workspaces themselves, but folders below them may be. */
const systemTops = new Set(['/', '/home', '/media', '/mnt', '/opt', '/srv', '/tmp', '/usr', '/var', '/var/tmp', '/Users', '/Volumes', '/private', '/private/tmp']) // prettier-ignore
/** Folders of this name hold keys, wherever they are. */
const keyFolders = new Set(['.ssh', '.gnupg', '.aws'])

function isSystemFolder(path: string): boolean {
  if (process.platform === 'win32')
    return relative(path, '') === '' || /^[a-z]:\\(windows(\\|$))?$/i.test(path)
  return (
    systemTops.has(path) ||
    systemTrees.some((tree) => isBelow(tree, path)) ||
    path.split(sep).some((name) => keyFolders.has(name.toLowerCase()))
  )
}
