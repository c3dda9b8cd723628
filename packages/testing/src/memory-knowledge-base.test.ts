import { knowledgeBaseContract } from './knowledge-base-contract.ts'
import { memoryKnowledgeBase } from './memory-knowledge-base.ts'

knowledgeBaseContract('memoryKnowledgeBase', async () => {
  const documents = new Map<string, string>()
  return {
    base: memoryKnowledgeBase(documents),
    write: async (file, text) => void documents.set(file, text),
    remove: async (file) => void documents.delete(file),
  }
})
