// Where agents may work: from the environment, from the configuration, or below the folder of the process.
import { delimiter, resolve } from 'node:path'
import type { Config } from './config-file.ts'

/** In BEAVER_WORKSPACE_ROOTS: the folders that the user of the daemon owns. */
const ownedFolders = '(owned)'

/** The environment from which another process reads the same workspace roots. */
export const workspaceRootsEnvironment = ({
  workspaceRoots: { roots, owned },
}: Pick<Config, 'workspaceRoots'>): Record<string, string> => ({
  BEAVER_WORKSPACE_ROOTS: [...roots, ...(owned ? [ownedFolders] : [])].join(delimiter),
})

/**
 * The folders below which a workspace may be, and whether every folder of the user counts. The environment
 * comes before the configuration.
 */
export function rootsOf(
  { workspace_roots, nats_url }: Pick<Config, 'workspace_roots' | 'nats_url'>,
  {
    env,
    cwd,
    named,
  }: {
    readonly env: Readonly<Record<string, string | undefined>>
    readonly cwd: string
    readonly named: readonly string[]
  },
): { roots: readonly string[]; owned: boolean } {
  const rootsText = env['BEAVER_WORKSPACE_ROOTS'] || undefined
  if (rootsText !== undefined) {
    const roots = rootsText.split(delimiter)
    return {
      roots: roots.flatMap((root) => (root === '' || root === ownedFolders ? [] : [resolve(cwd, root)])),
      owned: roots.includes(ownedFolders),
    }
  }
  return workspace_roots === undefined
    ? { roots: [cwd], owned: nats_url === undefined }
    : { roots: named, owned: false }
}
