// The courtesy that may follow a decision. The lists are closed: anything else may be a condition or a no.
import { keyed, kindSigns } from './typed-text.ts'

const words = new Set(
  'a cheers go ahead lot many much ok okay please pls so thank thanks thx ty very yes you'.split(' '),
)

/**
 * Thanks and please as whole phrases, so that no part of one says anything by itself. An accent may be left
 * out where people leave it out.
 */
const phrases = [
  'danke|dankeschön|danke schön|danke sehr|vielen dank|besten dank|herzlichen dank|bitte|bitte schön|bitte sehr',
  "merci|merci beaucoup|merci bien|s'il vous pla[iî]t|s'il te pla[iî]t|svp|stp",
  'gracias|muchas gracias|mil gracias|por favor|porfa',
  'obrigad[oa]|muito obrigad[oa]|por favor|se faz favor',
  'grazie|grazie mille|mille grazie|molte grazie|per favore|per piacere',
  'bedankt|hartelijk bedankt|dank je|dank je wel|dank u|dank u wel|dankjewel|alstublieft|alsjeblieft|aub|svp',
  '谢谢|謝謝|谢谢你|謝謝你|谢谢您|謝謝您|多谢|多謝|感谢|感謝|麻烦了|麻煩了|拜托了|拜託了',
  'ありがとう|ありがとうございます|有難うございます|どうもありがとう|どうもありがとうございます|お願いします|お願いいたします|お願い致します|よろしくお願いします|よろしくお願いいたします|宜しくお願いします',
  '감사합니다|감사해요|고맙습니다|고마워요|고마워|부탁합니다|부탁드립니다|부탁해요',
  'спасибо|большое спасибо|спасибо большое|благодарю|пожалуйста',
  'te[sş]ekk[uü]rler|te[sş]ekk[uü]r ederim|[cç]ok te[sş]ekk[uü]rler|sa[gğ] ?ol|sa[gğ] ?olun|l[uü]tfen',
  'dzi[eę]kuj[eę]|dzi[eę]kuj[eę] bardzo|bardzo dzi[eę]kuj[eę]|dzi[eę]ki|prosz[eę]',
]
  .flatMap((language) => language.split('|'))
  .toSorted((a, b) => b.length - a.length)
  .map((phrase) => phrase.replaceAll("'", `["']`).replaceAll(' ', String.raw`\s+`))
const thanks = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${phrases.join('|')})(?![\p{L}\p{N}])`, 'giu')

/** Whether a text is nothing but courtesy. */
export function isCourtesy(text: string): boolean {
  const left = keyed(text.normalize('NFC')).replaceAll(kindSigns, ' ').replaceAll(thanks, ' ').toLowerCase()
  return left.split(/[\s"'.,;:!…()<>[\]*_-]+/).every((word) => word === '' || words.has(word))
}
