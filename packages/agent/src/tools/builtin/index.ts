// The tools every workspace has.
import type { Tool } from '../tool.ts'
import { echo } from './echo.ts'
import { fileStats } from './file-stats.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { recountFiles } from './recount-files.ts'

export type { Figures } from './figures.ts'
export type { FileStats } from './file-stats.ts'
export type { FileList } from './list-files.ts'
export type { FilePart } from './read-file.ts'
export type { Recount } from './recount-files.ts'
export { resolveInWorkspace, type WorkspacePath } from './workspace-path.ts'

export function builtinTools(): readonly Tool[] {
  return [listFiles, readFile, fileStats, recountFiles, echo]
}
