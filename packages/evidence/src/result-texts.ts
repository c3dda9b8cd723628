// The readable texts of a tool's result: the result itself and, if it is JSON, the strings in it without
// their escapes. Without these strings, the 12 of "total:\n12" would be a part of the word "n12".
import type { JsonValue } from '@beaver/core'

export function resultTexts(result: string): readonly string[] {
  if (!result.includes('\\') || !/^\s*[[{"]/.test(result)) return [result]
  try {
    return [result, ...stringsIn(JSON.parse(result) as JsonValue)]
  } catch {
    return [result]
  }
}

function stringsIn(value: JsonValue): string[] {
  const strings: string[] = []
  const open: JsonValue[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') strings.push(next)
    else if (typeof next === 'object' && next !== null)
      for (const each of Object.values(next) as JsonValue[]) open.push(each)
  }
  return strings
}

/**
 * The letters that make up words. Scripts without spaces between words, such as Han, have no word boundary.
 */
export const wordLetters = String.raw`\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}`
