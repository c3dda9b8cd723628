export {
  type FolderKnowledgeBase,
  folderKnowledgeBase,
  type KnowledgePorts,
} from './folder-knowledge-base.ts'
export { knowledgeCalls } from './knowledge-calls.ts'
export { embeddingsOf, type KnowledgeFolder, knowledgeFolders } from './knowledge-folder.ts'
export { type Knowledge, startKnowledge } from './knowledge-thread.ts'
export {
  type LeftOutReason,
  leftOutReasons,
  type Survey,
  surveyFolder,
  surveyOptions,
} from './survey-folder.ts'
