// A form in which two spellings of one file name are equal, on any file system.

/**
 * Without case, without compatibility forms and composition, without invisible characters: as the least
 * strict file systems compare names.
 */
export const foldedText = (text: string): string => {
  const plain = text.normalize('NFKC').replaceAll(/[\p{Cf}\p{Cc}]/gu, '')
  // Upper case first: it has one form of ß and of the two small sigmas.
  return plain.toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFKC')
}
