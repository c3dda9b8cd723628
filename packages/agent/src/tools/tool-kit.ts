// The entry for packages of tools: the definition, the fence of the workspace, cells, child processes. A cell
// loads this entry with the module of its tool, for each call. So this entry imports nothing of the loop, the
// skills or the providers.
export { type FilePart, readFilePart } from '../files/file-part.ts'
export { closedFolderIds, closeFolders } from '../files/held-folder.ts'
export { holdBelow, ignoredFolders, openBelow, walk, type WalkedEntry } from '../files/walk.ts'
export {
  openHeldEntry,
  openFileInside,
  type OpenedFile,
  openFolderInside,
  type OpenedFolder,
  partsOf,
  reach,
  type ReachedPlace,
} from '../files/open-inside.ts'
export { foldedName, isSecretPath, secretFile } from '../files/secret-paths.ts'
export { quoted, refusal, workspaceRoot } from '../files/workspace-path.ts'
export { readImageFile } from '../images/image-file.ts'
export { isHostOf } from '../hosts/host-pattern.ts'
export { inCell } from './cell/in-cell.ts'
export { permissionOf, permissionOnSubject, type PermissionRule } from './permission.ts'
export { allowsCommand } from './programs/command-rule.ts'
export { commandLine } from './programs/read-command.ts'
export {
  childEnvironment,
  confined,
  findSandbox,
  noSandbox,
  sandboxAdvice,
  type SandboxMode,
  type SandboxOptions,
} from './sandbox/sandbox.ts'
export { spawn } from '@beaver/platform/programs'
export { groupsSupported, startGroup } from './process/process-group.ts'
export { packageRoot } from './sandbox/confinement.ts'
export type { SandboxPrograms } from './sandbox/confinement.ts'
export { wholeEnd } from './result-text.ts'
export { withTrace } from './trace-variables.ts'
export { imageText } from '@beaver/core/images'
export {
  type AskPerson,
  defineTool,
  type Tool,
  type ReadSource,
  type ToolContext,
  ToolFailure,
  ToolInputError,
} from './tool.ts'
