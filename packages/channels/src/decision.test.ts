import { describe, expect, it } from 'vitest'
import { budgetReplyIn, changedArguments, decisionIn } from './decision.ts'

/**
 * The outcome of a text: its decision; `unclear` if the call still waits and the person reads how to decide;
 * `null` if the text is no decision.
 */
function decided(text: string): unknown {
  const said = decisionIn(text)
  if (said?.verb !== 'approve') return said
  try {
    const changed = changedArguments(said.code, said.rest)
    return changed === null ? 'approved' : { approved: changed }
  } catch {
    return 'unclear'
  }
}

describe('an approval', () => {
  it.each([
    'approve k3f-09d',
    'Approve k3f-09d.',
    ' APPROVE K3F-09D ! ',
    '"approve k3f-09d"',
    '“approve k3f-09d”',
    '„Approve k3f-09d.“',
    "'approve k3f-09d'",
    '«approve k3f-09d»',
    '「approve k3f-09d」。',
    '`approve k3f-09d`',
    'approve `k3f-09d`',
    'approve "k3f-09d".',
    'approve <k3f-09d>',
    '*approve* k3f-09d',
    '**approve k3f-09d**',
    '/approve k3f-09d',
    'approve: k3f-09d',
    'approve k3f–09d',
    'ａｐｐｒｏｖｅ　ｋ３ｆ－０９ｄ！',
    'approve\u00a0k3f-09d',
    'approve k3f-09d, thanks',
    'approve k3f-09d please. Thank you very much!',
    'approve k3f-09d - yes, go ahead',
    'approve k3f-09d 👍',
    'approve k3f-09d 👍🏽🙏 ✔️',
    'approve k3f-09d\n',
    'approve k3f-09d \n\n-- \nAda, who does not approve of signatures',
    'approve k3f-09d\nThank you!',
    'approve k3f-09d\n\nSent from my phone, sorry for typos.',
    'approve k3f-09d\n________________________________\nFrom: Beaver\nAnswer "approve k3f-09d" or "deny k3f-09d <why>".',
    'approve k3f-09d\n\nBest regards\nAda',
    'approve k3f-09d\n\nBest regards\nAda 😊',
    'approve k3f-09d, danke',
    'approve k3f-09d - vielen Dank, bitte!',
    "approve k3f-09d s'il vous plaît, merci beaucoup",
    'approve k3f-09d s’il te plait',
    'approve k3f-09d por favor. Gracias!',
    'approve k3f-09d, muito obrigada',
    'approve k3f-09d, grazie mille',
    'approve k3f-09d alsjeblieft, dank je wel',
    'approve k3f-09d 谢谢！',
    'approve k3f-09d、ありがとうございます。',
    'approve k3f-09d よろしくお願いします',
    'approve k3f-09d 감사합니다',
    'approve k3f-09d, большое спасибо',
    'approve k3f-09d, lütfen. Çok teşekkürler',
    'approve k3f-09d proszę, dziękuję bardzo',
    'approve k3f-09d, dzie\u0328kuje\u0328',
    'approve k3f-09d\u200b',
    '\u200eapprove k3f-09d',
    '\u2068approve k3f\u2060-\u206009d\u2069',
    '\ufeffapp\u200drove k3f-09d thx\u200c',
  ])('is taken from %j', (text) => expect(decided(text)).toBe('approved'))

  it.each([
    ["don't approve k3f-09d", null],
    ['do not approve k3f-09d', null],
    ['never approve k3f-09d', null],
    ['not approve k3f-09d', null],
    ['please approve k3f-09d', null],
    ['Bob, approve k3f-09d', null],
    ['I would approve k3f-09d', null],
    ['~~approve k3f-09d~~', null],
    ['approve ~k3f-09d~', null],
    ['approve k3f-09d~~', 'unclear'],
    ['approve k3f-09d?', null],
    ['approve k3f-09d ? no', null],
    ['“approve k3f-09d”? no', null],
    ['approve k3f-09d？', null],
    ['approve k3f-09d no', 'unclear'],
    ['approve k3f-09d, no!', 'unclear'],
    ['approve k3f-09d not', 'unclear'],
    ['approve k3f-09d ok?', 'unclear'],
    ['approve k3f-09d please wait', 'unclear'],
    ['approve k3f-09d but only reports/', 'unclear'],
    ['approve k3f-09d if Bob agrees', 'unclear'],
    ['approve k3f-09d or deny k3f-09d', 'unclear'],
    ['approve k3f-09d and 5k9-1wd', 'unclear'],
    ['approve k3f-09d 👎', 'unclear'],
    ['approve k3f-09d ❌', 'unclear'],
    ['approve k3f-09d 🤔', 'unclear'],
    ['approve k3f-09d nein', 'unclear'],
    ['approve k3f-09d\nno, wait', 'unclear'],
    ['approve k3f-09d\nafter Bob has checked it', 'unclear'],
    ['approve k3f-09d\nnein, bitte nicht', 'unclear'],
    ['approve k3f-09d\n👎', 'unclear'],
    ['approve k3f-09d\n\n❌', 'unclear'],
    ['approve k3f-09d\n--no, wait', 'unclear'],
    ['approve k3f-09d\n__No!__', 'unclear'],
    ['approve k3f-09d\n\nThanks\n\nno, cancel that', 'unclear'],
    ['approve k3f-09d\nClint Grant', 'unclear'],
    ['approve k3f-09d\n\nafter the tests have passed', 'unclear'],
    ['approve k3f-09d\n\nstaging first', 'unclear'],
    ['approve k3f-09d\n\nnein', 'unclear'],
    ['approve k3f-09d\n\nBest regards\nstaging first', 'unclear'],
    ['approve k3f-09d\n\nBest regards\nAda\n\nstaging first', 'unclear'],
    ['approve k3f-09d\n\nSent from my phone, only staging', 'unclear'],
    ['approve k3f-09d\n\nBest regards\nAda\n\nThis mail is not for you if you are somebody else.', 'unclear'],
    ['approve k3f-09d\n\nno, do not', 'unclear'],
    ['approve k3f-09d, thanks\nBut only once.', 'unclear'],
    ['approve k3f-09d\nI don’t mean that', 'unclear'],
    ['approve k3f-09d nein danke', 'unclear'],
    ['approve k3f-09d, bitte nicht', 'unclear'],
    ['approve k3f-09d, bitte?', 'unclear'],
    ['approve k3f-09d non merci', 'unclear'],
    ['approve k3f-09d 谢谢不要', 'unclear'],
    ['approve k3f-09d 不用谢谢', 'unclear'],
    ['approve k3f-09d お願いしません', 'unclear'],
    ['approve k3f-09d favor', 'unclear'],
    ['approve k3f-09d je', 'unclear'],
    ['approve k3f-09d danke nach dem Test', 'unclear'],
    ['yes', null],
    ['APPROVE', null],
    ['approve', null],
    ['approve the plan', null],
    ['approve k3f-09dx', null],
    ['approve k3f-09d-1', null],
    ['approve k3f 09d', null],
    ['k3f-09d', null],
    ['', null],
  ])('is not taken from %j, which may mean something else', (text, read) => expect(decided(text)).toBe(read))

  it.each([
    ['approve k3f-09d {"path": "a"}', '{"path": "a"}'],
    ['`approve k3f-09d {"path": "a"}`', '{"path": "a"}'],
    ['Approve k3f-09d: {"path": "“a”"}, thanks', '{"path": "“a”"}'],
    ['approve k3f-09d\n{"path":\n"a"}\n-- \nAda', '{"path":\n"a"}'],
  ])('has the arguments as they are written in %j', (text, args) =>
    expect(decided(text)).toEqual({ approved: args }),
  )

  it.each([
    'approve k3f-09d {"path": "a"} but not now',
    'approve k3f-09d {"path": "a"',
    'approve k3f-09d ｛｝',
  ])('has no arguments in %j', (text) => expect(decided(text)).toBe('unclear'))

  it('of two calls in one message is refused by a text that says that each is a message of its own', () => {
    for (const rest of [' 5k9-1wd', ' and 5k9-1wd', '\napprove 5k9-1wd'])
      expect(() => changedArguments('k3f-09d', rest)).toThrow('Each decision is a message')
  })

  it('with a condition is refused by a text that says how to approve', () => {
    expect(() => changedArguments('k3f-09d', ' but only reports/')).toThrow(
      'To allow it as it is, write only "approve k3f-09d".',
    )
  })
})

describe('another decision', () => {
  it.each([
    [' DENY K3F-09D  too\nexpensive ', { verb: 'deny', code: 'k3f-09d', reason: 'too\nexpensive' }],
    ['deny k3f-09d.', { verb: 'deny', code: 'k3f-09d', reason: '' }],
    ['Deny k3f-09d, it is too expensive.', { verb: 'deny', code: 'k3f-09d', reason: 'it is too expensive.' }],
    [
      '“deny k3f-09d because of “x” and y”',
      { verb: 'deny', code: 'k3f-09d', reason: 'because of “x” and y' },
    ],
    ['deny k3f-09d? no', null],
    ['deny k3f-09d, thanks', { verb: 'deny', code: 'k3f-09d', reason: '' }],
    [
      'deny k3f-09d use staging\n--\nAda Lovelace\n+49 30 1234',
      { verb: 'deny', code: 'k3f-09d', reason: 'use staging' },
    ],
    ['deny k3f-09d\n\nBest regards\nAda', { verb: 'deny', code: 'k3f-09d', reason: '' }],
    ['deny k3f-09d نمی\u200cخواهم', { verb: 'deny', code: 'k3f-09d', reason: 'نمی\u200cخواهم' }],
    ["don't deny k3f-09d", null],
    ['decline k3f-09d', { verb: 'decline', code: 'k3f-09d', reason: '' }],
    ['"decline k3f-09d".', { verb: 'decline', code: 'k3f-09d', reason: '' }],
    ['Answer k3f-09d 2', { verb: 'answer', code: 'k3f-09d', text: '2' }],
    ['`answer k3f-09d 2`', { verb: 'answer', code: 'k3f-09d', text: '2' }],
    ['answer "k3f-09d": “main”', { verb: 'answer', code: 'k3f-09d', text: '“main”' }],
    ['answer k3f-09d .5', { verb: 'answer', code: 'k3f-09d', text: '.5' }],
    ['answer k3f-09d ?', { verb: 'answer', code: 'k3f-09d', text: '?' }],
    ['answer k3f-09d\na=1\nb=2\n', { verb: 'answer', code: 'k3f-09d', text: 'a=1\nb=2' }],
    ['answer k3f-09dx', null],
  ])('is read from %j', (text, read) => expect(decisionIn(text)).toEqual(read))
})

describe('a reply to a task that waits for a budget', () => {
  it.each([
    ['more 0.50', { verb: 'more', code: null, amount: '0.50' }],
    ['“More 0.50.”', { verb: 'more', code: null, amount: '0.50' }],
    ['/more 50,000 tokens', { verb: 'more', code: null, amount: '50,000 tokens' }],
    ['more k3f-09d $5', { verb: 'more', code: 'k3f-09d', amount: '$5' }],
    ['more 0.50?', { verb: 'more', code: null, amount: '0.50?' }],
    ['more 5\n\nBest regards\nAda', { verb: 'more', code: null, amount: '5' }],
    ['cancel', { verb: 'cancel', code: null }],
    ['Cancel k3f-09d, please.', { verb: 'cancel', code: 'k3f-09d' }],
    ['cancel?', null],
    ['cancel the meeting', null],
    ["don't cancel", null],
    ['~~more 5~~', null],
    ['moreover, 5', null],
    ['give more 5', null],
    ['', null],
  ])('is read from %j', (text, read) => expect(budgetReplyIn(text)).toEqual(read))
})
