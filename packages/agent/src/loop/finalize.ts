// Ends a run whose answer is recorded without the end: facts must be gathered first, or a crash came between.
import { lstat } from 'node:fs/promises'
import { type DataOf, type DomainEvent, event, noUsage } from '@beaver/core'
import type { RunState } from '@beaver/core/fold'
import { reach } from '../files/open-inside.ts'
import { workspaceRoot } from '../files/workspace-path.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import type { LoopWork } from './loop-work.ts'
import { finalEvents } from './run-ends.ts'

export async function finalize(work: LoopWork, run: RunState): Promise<void> {
  // The fold has counted the usage of the answer already.
  const answer = { content: run.outputText, finishReason: run.finishReason ?? 'stop', usage: noUsage }
  const final = finalEvents(run, answer, work.isTool)
  const wanted = work.files.length > 0 && final.every((each) => each.type === 'run_completed')
  await work.record([...(wanted ? await filesFound(work) : []), ...final])
}

/** The facts about files that the result of the run is checked against. */
export async function filesFound({
  files,
  spec,
  start,
}: Pick<LoopWork, 'files' | 'spec' | 'start'>): Promise<DomainEvent[]> {
  return files.length === 0
    ? []
    : [event('workspace_files_checked', { files: await findFiles(spec.workspace, files) }, start.run_id)]
}

// Reports what exists at paths of the workspace. These facts are for the gate, which itself does not read the
// disk. Nothing outside the workspace is looked at (open-inside.ts). It never throws: a path that cannot be
// read is `unreadable`.

type FoundFile = DataOf<'workspace_files_checked'>['files'][number]

export function findFiles(workspace: string, paths: readonly string[]): Promise<FoundFile[]> {
  return Promise.all(paths.map((path) => findFile(workspace, path)))
}

async function findFile(workspace: string, path: string): Promise<FoundFile> {
  try {
    await using place = await reach(workspaceRoot(workspace), path)
    if (place.missing.length > 0) return { path, found: 'missing', bytes: null }
    // The folder is held and its entry is no link, so this is the entry that the path leads to.
    const stats = await lstat(place.name === null ? place.folder.here : place.folder.entry(place.name))
    if (stats.isFile()) return { path, found: 'file', bytes: stats.size }
    return { path, found: stats.isDirectory() ? 'folder' : 'other', bytes: null }
  } catch (error) {
    return {
      path,
      found: error instanceof ToolFailure ? (refusals[error.code] ?? 'unreadable') : 'unreadable',
      bytes: null,
    }
  }
}

const refusals: Readonly<Record<string, FoundFile['found']>> = {
  not_found: 'missing',
  not_a_folder: 'missing',
  outside_workspace: 'refused',
}
