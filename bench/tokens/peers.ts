// What the bench `tokens` compares with, and the tokenizer of OpenAI's models.
import { peersIn } from '../peers.ts'

export const tokenPeers = peersIn('tokens', {
  '@ai-sdk/openai-compatible': '3.0.92',
  '@langchain/core': '1.4.0',
  '@langchain/langgraph': '1.7.3',
  '@langchain/openai': '1.6.0',
  ai: '7.0.173',
  'gpt-tokenizer': '4.0.0',
  zod: '4.6.7',
})
