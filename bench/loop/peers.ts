// LangGraph.js, which the bench `loop` compares with.
import { peersIn } from '../peers.ts'

export const langGraphPeers = peersIn('langgraph', {
  '@langchain/core': '1.4.0',
  '@langchain/langgraph': '1.7.3',
  '@langchain/openai': '1.6.0',
  zod: '4.6.7',
})
