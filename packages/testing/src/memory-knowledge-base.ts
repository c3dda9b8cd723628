// The in-memory twin of a knowledge base: the same answers for words, without files or an index.
import {
  comparedWords,
  documentPassages,
  foldedText,
  type KnowledgeBase,
  knowledgeLimitMax,
  type KnowledgePassage,
} from '@beaver/core'

/** @param documents the text of each document by its path; a change counts from the next search */
export function memoryKnowledgeBase(documents: ReadonlyMap<string, string>): KnowledgeBase {
  return {
    async search({ query, limit }, signal) {
      signal.throwIfAborted()
      const passages = [...documents].flatMap(([file, text]) => passagesOf(file, text))
      const wanted = [...wordsOf(query)]
      const rarity = new Map(
        wanted.map((word) => [
          word,
          Math.log(1 + passages.length / passages.filter(({ words }) => words.has(word)).length),
        ]),
      )
      const scored = passages.map(({ words, passage }) => ({
        passage,
        score: wanted.reduce((sum, word) => sum + (words.has(word) ? (rarity.get(word) ?? 0) : 0), 0),
      }))
      const found = scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score)
      const max = Math.max(1, Math.min(knowledgeLimitMax, Math.trunc(limit)))
      return {
        passages: found.slice(0, max).map(({ passage }) => passage),
        ranked_by: 'words',
        complete: true,
      }
    },
  }
}

function passagesOf(
  file: string,
  text: string,
): { readonly passage: KnowledgePassage; readonly words: ReadonlySet<string> }[] {
  return [...documentPassages(text, { headings: file.endsWith('.md') })].map(
    ({ firstLine, lastLine, heading, text: own }) => ({
      passage: { file, first_line: firstLine, last_line: lastLine, heading, text: own },
      words: wordsOf(`${file} ${heading ?? ''} ${own}`),
    }),
  )
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(comparedWords(foldedText(text.toWellFormed())))
