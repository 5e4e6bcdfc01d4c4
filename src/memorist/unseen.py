"""Characters that show nothing: the contents of a regular expression's character class.

A message can be written in them that no person sees and every model reads. They are Unicode's controls, formats and default
ignorable characters, the letters and signs that are blank, half characters, non-characters and the planes without any. Not
among them are tab and line feed, the spaces, and the formats that are drawn, such as the Arabic sign for a number.
"""

UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u2d7f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U0001107f\U00013430-\U0001343f\U00013441\U00013442\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U000effff"
)
