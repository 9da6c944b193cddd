/** What a text must not do to a statement, an array or a row on its way. */
export const awkward = [
  `it's "quoted" \\ and \\\\ back\\'slashed`,
  '100% %s %i %% $1 $2::int8 ? ?? :name @p ${x} --',
  '{}',
  '{a,b,{c}},"d",NULL',
  'null',
  'line one\nline two\r\n\ttabbed',
  '🎉 漢字 e\u0301 \u2028 \u{10FFFF}',
  `'); drop table invoice; --`,
  '/* comment */ ;',
]
