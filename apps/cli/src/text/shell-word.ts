// Quotes a word of a command that a person may copy into a shell.

/** @example shellWord("it's; rm -rf ~") // 'it'\''s; rm -rf ~' */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
