// Checks agent names (D-30). A name is the node's id, unchanged, in prompts, in the flow text and in the
// journal. No name contains a separator of names in a flow (`->`, `,`), a control character or an invisible
// character.

/** In characters (code points). */
export const agentNameCharsMax = 64

// Combining marks belong to their letter. Hindi and Thai cannot be written without them.
const allowed = /^(?:[\p{L}\p{Nd}]\p{M}*|[ _.-])+$/u
const allowedOne = /^[\p{L}\p{Nd}\p{M} _.-]$/u

/**
 * What is wrong with a name and how to correct it, as a sentence that follows the name. `null` for a valid
 * name.
 */
export function agentNameFault(name: string): string | null {
  if (name === '') return `is empty: give a name of 1 to ${agentNameCharsMax} characters`
  const chars = [...name]
  if (chars.length > agentNameCharsMax)
    return `has ${chars.length} characters: use at most ${agentNameCharsMax}`
  if (name !== name.trim())
    return name.trim() === ''
      ? 'is blank: give it letters or digits'
      : `begins or ends with a space: write ${JSON.stringify(name.trim())}`
  const odd = chars.find((char) => !allowedOne.test(char))
  if (odd !== undefined) return `holds ${shown(odd)}: use only letters, digits, spaces, "_", "-" and "."`
  if (!allowed.test(name)) return 'has a combining mark without a letter before it: remove the mark'
  if (name !== name.normalize('NFC'))
    return `is not in Unicode normal form C: write ${JSON.stringify(name.normalize('NFC'))}`
  return null
}

function shown(char: string): string {
  const code = `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
  return /[\p{C}\p{Z}]/u.test(char) ? code : `${char} (${code})`
}
