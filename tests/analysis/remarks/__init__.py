from vizkit.analysis.remarks.remark import Remark


def words_of(remark: Remark | None) -> str | None:
    return remark and remark.words
