// The names that the Agent Skills standard's own library takes (`skills-ref`, read 2026-11): the letters and
// digits of any script.
const nameCharsMax = 64

/** What the standard says against a name, in sentences. Empty: the name follows the standard. */
export function skillNameFaults(given: string): string[] {
  const name = given.normalize('NFKC')
  const characters = [...name].length
  const faults: string[] = []
  if (characters > nameCharsMax)
    faults.push(`It has ${characters} characters; at most ${nameCharsMax} are allowed.`)
  if (!/^[\p{L}\p{N}-]+$/u.test(name)) faults.push('Only letters, digits and "-" are allowed.')
  if (name !== name.toLowerCase()) faults.push('Use lower-case letters.')
  if (name.startsWith('-') || name.endsWith('-')) faults.push('It must not begin or end with "-".')
  if (name.includes('--')) faults.push('It must not contain "--".')
  return faults
}
