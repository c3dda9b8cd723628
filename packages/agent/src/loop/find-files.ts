// Reports what exists at paths of the workspace. These facts are for the gate, which itself does not read the disk.
// F1. Nothing outside the workspace is looked at (workspace-path.ts).
// F2. It never throws: a path that cannot be read is `unreadable`.
import { stat } from 'node:fs/promises'
import type { DataOf } from '@beaver/core'
import { resolveInWorkspace } from '../files/workspace-path.ts'
import { ToolFailure } from '../tools/tool.ts'

type FoundFile = DataOf<'workspace_files_checked'>['files'][number]

export function findFiles(workspace: string, paths: readonly string[]): Promise<FoundFile[]> {
  return Promise.all(paths.map((path) => findFile(workspace, path)))
}

async function findFile(workspace: string, path: string): Promise<FoundFile> {
  try {
    const stats = await stat((await resolveInWorkspace(workspace, path)).absolute)
    if (stats.isFile()) return { path, found: 'file', bytes: stats.size }
    return { path, found: stats.isDirectory() ? 'folder' : 'other', bytes: null }
  } catch (error) {
    return { path, found: error instanceof ToolFailure ? (refusals[error.code] ?? 'unreadable') : 'unreadable', bytes: null }
  }
}

const refusals: Readonly<Record<string, FoundFile['found']>> = { not_found: 'missing', outside_workspace: 'refused' }
